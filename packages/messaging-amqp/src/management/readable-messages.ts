/**
 * What `encode` makes of each message. A damaged message is reported, and takes no others along.
 *
 * @throws ERR_STORE_DAMAGED when there is no other
 */
export function readableMessages<Message>(
  messages: readonly Message[],
  encode: (message: Message) => object,
  report: (error: unknown) => void,
): readonly object[] {
  const failures: unknown[] = []
  const readable = messages.flatMap((message) => {
    try {
      return [encode(message)]
    } catch (error) {
      failures.push(error)
      return []
    }
  })
  if (readable.length === 0 && failures.length > 0) throw failures[0]
  failures.forEach(report)
  return readable
}
