import { errorCode } from '@tidemark/contracts'
import type { RemoteContainer } from './remote-container.ts'

/** Makes a container and its database unless they are there; many may do so at once. */
export async function createContainer(
  container: RemoteContainer,
  {
    partitionKey,
    signal,
  }: { readonly partitionKey: string; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const { connection, name } = container
  try {
    await container.facts(signal)
    return
  } catch (error) {
    if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
  }
  // To make what is there already is no failure, so that both may be sent again.
  const effect = 'none'
  await unlessThere(() =>
    connection.send({
      method: 'POST',
      path: ['dbs'],
      body: JSON.stringify({ id: name.database }),
      subject: { resource: 'database', id: name.database, effect },
      signal,
    }),
  )
  const definition = { paths: [partitionKey], kind: 'Hash', version: 2 }
  await unlessThere(() =>
    connection.send({
      method: 'POST',
      path: ['dbs', name.database, 'colls'],
      body: JSON.stringify({ id: name.container, partitionKey: definition }),
      subject: { resource: 'collection', id: name.container, effect },
      signal,
    }),
  )
}

async function unlessThere(create: () => Promise<unknown>): Promise<void> {
  try {
    await create()
  } catch (error) {
    if (errorCode(error) !== 'ERR_EXISTS') throw error
  }
}
