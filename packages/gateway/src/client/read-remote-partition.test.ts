import { expect, test } from 'vitest'
import { TEST_KEY, testGateway } from '../server/running-gateway.fixture.ts'
import { CosmosConnection } from './cosmos-connection.ts'
import { readPartitionInPages } from './read-remote-partition.ts'
import { RemoteContainer } from './remote-container.ts'

test('documents of a partition have an LSN where the server says none of theirs', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'x', pk: 'a' })
  const connection = new CosmosConnection({ endpoint: started.gateway.endpoint, key: TEST_KEY })
  const remote = new RemoteContainer(connection, { database: 'db', container: 'c' })
  const request = { partitionKey: '["a"]', signal: undefined }
  const { documents } = await readPartitionInPages(remote, request)
  expect(documents).toEqual([expect.objectContaining({ id: 'x', _lsn: expect.any(Number) })])
  // LSNs are compared: one that is no number would make nonsense of all after it.
  expect(Math.max(0, ...documents.map(({ _lsn }) => _lsn))).toBeGreaterThanOrEqual(0)
})
