/** A command could not do its work, and nobody mistyped anything: a server that is away, a port that is taken. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}
