import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MissingPackageError } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { nodeHandlerOf } from './node-handler.ts'

async function answers(handler: ReturnType<typeof nodeHandlerOf>): Promise<readonly unknown[]> {
  const server = createServer(handler)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const ask = async (): Promise<unknown> => {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'body' })
      return [answer.status, await answer.text()]
    }
    return await Promise.all([ask(), ask()])
  } finally {
    server.close()
  }
}

test('requests that come while the handler loads are answered, with their bodies', async () => {
  const handler = nodeHandlerOf(async (request) => new Response(await request.text()))
  expect(await answers(handler)).toEqual([
    [200, 'body'],
    [200, 'body'],
  ])
})

test('without the package every answer names the command that installs it', async () => {
  const handler = nodeHandlerOf(
    async () => new Response(),
    () => Promise.reject(new MissingPackageError(['@tidemark/gateway'])),
  )
  const text = JSON.stringify({
    code: 'ERR_MISSING_PACKAGE',
    message: 'this needs the package @tidemark/gateway: npm install @tidemark/gateway',
  })
  expect(await answers(handler)).toEqual([
    [500, text],
    [500, text],
  ])
})
