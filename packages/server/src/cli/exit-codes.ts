/** How a command ends. docs/commands.md lists them, and a test holds the two together. */
export const EXIT = {
  /** Done; of `limit`: allowed. */
  ok: 0,
  /** It could not be done: the server is away or refuses, a port is taken; of `simulate`: a promise did not hold; of `doctor`: something fails. */
  failed: 1,
  /** Something that was typed or written cannot be meant. */
  input: 2,
  /** Of `limit`: denied. */
  denied: 3,
  /** Of `serve`: it stopped, and something accepted was lost. */
  lost: 4,
} as const;
