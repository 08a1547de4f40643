import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOfStream } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { CosmosConnection } from '@tidemark/gateway/client'
import { SERVED_KEY } from '../../gateway/signed-request.ts'

/** A place where a text comes into a process that serves nobody. Resolves with the processor time that it took, in ms. */
export interface LocalEntry {
  readonly name: string
  readonly spend: (text: string) => Promise<number>
}

const MAIN = fileURLToPath(new URL('../../../packages/tidemark/src/cli/main.ts', import.meta.url))
/** The last line of the error output. */
const TOLD = 'data:text/javascript,process.on("exit",()=>console.error(process.cpuUsage().user))'

function answered(
  name: string,
  of: (text: string) => { readonly body?: string; readonly headers?: Record<string, string> },
): LocalEntry {
  return {
    name: `answers: ${name}`,
    async spend(text) {
      const { body = '{}', headers = {} } = of(text)
      const connection = new CosmosConnection({
        endpoint: 'http://server:1',
        key: SERVED_KEY,
        maxAttempts: 1,
        fetch: () =>
          Promise.resolve({
            status: 400,
            headers: { get: (header) => headers[header] ?? null },
            text: () => Promise.resolve(body),
          }),
      })
      const { user } = process.cpuUsage()
      await connection
        .send({
          method: 'GET',
          path: ['dbs'],
          subject: { resource: 'database', id: 'd', effect: 'none' },
        })
        .catch(() => undefined)
      return process.cpuUsage({ user, system: 0 }).user / 1000
    },
  }
}

/** The command with these arguments; `file` has the text. It refuses them, or does nothing that lasts. */
function command(
  name: string,
  argsOf: (text: string, file: string) => readonly string[],
): LocalEntry {
  return {
    name: `command: ${name}`,
    async spend(text) {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'tidemark-growth-'))
      const file = join(folder.path, 'file')
      await writeFile(file, text, { mode: 0o600 })
      const node = ['--conditions=@tidemark/source', '--import', TOLD, MAIN]
      const args = argsOf(text, file)
      const child = spawn(process.execPath, [...node, ...args], {
        cwd: folder.path,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      const [said] = await Promise.all([textOfStream(child.stderr), once(child, 'exit')])
      return Number(said.trim().split('\n').at(-1)) / 1000
    },
  }
}

/** Linux takes no longer argument than 128 KiB. */
const argument = (text: string): string => Buffer.from(text).subarray(0, 120_000).toString()

export const LOCAL_ENTRIES: readonly LocalEntry[] = [
  answered('a message', (text) => ({ body: JSON.stringify({ message: text }) })),
  answered('a message with an id', (text) => ({
    body: JSON.stringify({ message: `${text} ActivityId: a b` }),
  })),
  answered('a body', (text) => ({ body: text })),
  answered('headers', (text) => ({
    headers: { 'x-ms-retry-after-ms': text, 'x-ms-substatus': text },
  })),
  command('a store', (text) => ['ls', '--store', argument(text)]),
  command('a collection', (text) => ['ls', argument(text), '--store', 'none']),
  command('a document', (text) => ['put', 'a/b', argument(text), '--store', 'none']),
  command('an option', (text) => ['ls', `--${argument(text)}`]),
  ...['--key-file', '--access-policies', '--credentials-file', '--queues'].map((option) =>
    command(`a file of ${option}`, (_, file) => [
      'serve',
      'none',
      '--amqp-port',
      '0',
      '--host',
      'none',
      option,
      file,
    ]),
  ),
]
