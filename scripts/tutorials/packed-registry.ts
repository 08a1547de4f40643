import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import type { Tarball } from '../pack-all.ts'

const run = promisify(execFile)

export interface PackedRegistry extends AsyncDisposable {
  readonly url: string
}

/** A registry for npm with our packages as they are packed; for all others it sends npm on to the one that is configured. */
export async function startPackedRegistry(tarballs: readonly Tarball[]): Promise<PackedRegistry> {
  const { stdout: upstream } = await run('npm', ['config', 'get', 'registry'])
  const manifests = new Map<string, object>()
  for (const { name, path } of tarballs) {
    const { stdout } = await run('tar', ['xzOf', path, 'package/package.json'])
    manifests.set(name, JSON.parse(stdout) as object)
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const name = decodeURIComponent(pathname.slice(1))
    const tarball = tarballs.find((one) => name === one.name || name === `${one.name}.tgz`)
    if (tarball === undefined) {
      response.writeHead(302, { location: new URL(pathname, upstream.trim()).href }).end()
    } else if (name.endsWith('.tgz')) {
      response.end(await readFile(tarball.path))
    } else {
      const url = `http://${request.headers.host}/${name}.tgz`
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(packument(manifests.get(name) ?? {}, url)))
    }
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** What npm asks a registry about a package. */
function packument(manifest: object, tarball: string): object {
  const { name, version } = manifest as { readonly name: string; readonly version: string }
  return {
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, dist: { tarball } } },
  }
}
