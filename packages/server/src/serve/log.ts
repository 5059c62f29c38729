/** Where a server writes what happens: one line an event, with a level. */
export interface Log {
  debug(event: string, fields?: object): void;
  info(event: string, fields?: object): void;
  warn(event: string, fields?: object): void;
  error(event: string, fields?: object): void;
}
