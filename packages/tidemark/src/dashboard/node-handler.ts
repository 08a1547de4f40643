import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorCode } from '@tidemark/contracts'
import { loadGateway } from '../platform/optional-packages.ts'

type NodeHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/** The gateway's handler of Node's requests, loaded for the first of them: those who serve `Request` and `Response` need none. */
export function nodeHandlerOf(
  answer: (request: Request) => Promise<Response>,
  load: typeof loadGateway = loadGateway,
): NodeHandler {
  let loading: Promise<NodeHandler> | undefined
  return (incoming, outgoing) => {
    loading ??= load().then(({ nodeHandler }) => nodeHandler(answer))
    loading.then(
      (handle) => handle(incoming, outgoing),
      (error: Error) => {
        const body = JSON.stringify({ code: errorCode(error), message: error.message })
        outgoing.writeHead(500, { 'content-type': 'application/json', connection: 'close' })
        outgoing.end(body)
      },
    )
  }
}
