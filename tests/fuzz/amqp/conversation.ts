/** What one client says, whatever it is answered. */
export interface Conversation {
  /** Writes. After each it waits a moment for an answer, as most clients do. */
  readonly steps: readonly Buffer[]
  /** `leave`: the connection is cut; `finish`: half-closed, and the server must close it. */
  readonly afterwards: 'leave' | 'finish'
}

/** For people. */
export function describeConversation({ steps, afterwards }: Conversation): string {
  const said = steps.map((step) => step.toString('hex'))
  return `${steps.length} steps, then ${afterwards}:\n    ${said.join('\n    ')}`
}
