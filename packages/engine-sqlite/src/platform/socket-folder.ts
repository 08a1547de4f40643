import { existsSync, lstatSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { errnoOf } from '../folder/link-into-place.ts'
import { makeFolderFor, type StoreAccess } from '../store-access.ts'

/** Makes a folder for sockets, if there is none. Rejects when something else has its name. */
export async function makeSocketFolder(folder: string, access: StoreAccess): Promise<void> {
  if (!existsSync(folder)) {
    await makeFolderFor(access, folder).catch((error: unknown) => {
      if (errnoOf(error) !== 'EEXIST') throw error
    })
  }
  if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is a link or a file`)
}

/** Listens on a unix socket or a pipe, without keeping the process alive. */
export async function listenAt(path: string, onPeer: (peer: Socket) => void): Promise<Server> {
  const server = createServer(onPeer)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // By this process itself, also where it is a worker of a cluster.
    server.listen({ path, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  server.on('error', () => undefined)
  server.unref()
  return server
}
