import type { IncomingMessage, ServerResponse } from 'node:http'

/** Both sides of one exchange of Node's HTTP server. */
export interface NodeBindings {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}
