import { expect, test } from 'vitest'
import { CosmosConnection } from './cosmos-connection.ts'
import { RemoteContainer } from './remote-container.ts'

test('a server that never ends its list of pkranges is given up', async () => {
  let pages = 0
  const connection = new CosmosConnection({
    endpoint: 'http://server:1',
    key: 'a2V5',
    fetch: () =>
      Promise.resolve({
        status: 200,
        headers: { get: (name) => (name === 'x-ms-continuation' ? String(++pages) : null) },
        text: () => Promise.resolve('{"PartitionKeyRanges":[]}'),
      }),
  })
  const container = new RemoteContainer(connection, { database: 'd', container: 'c' })
  await expect(container.readPkRanges()).rejects.toMatchObject({
    message: 'container c: the server lists pkranges without end',
  })
})
