/** The one line of a failed `apt-get` that says why. */
export function aptErrorLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  // The first line of a failed command only repeats the command; apt's own reason starts with "E:".
  const lines = message.split('\n').map((line) => line.trim())
  return lines.find((line) => line.startsWith('E:')) ?? lines[0] ?? message
}
