import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { KillAtExit } from '@tidemark/testing/servers'
import { BENCH_KEY } from './signed-headers.ts'

const BUILT = fileURLToPath(
  new URL('../../../../packages/tidemark/dist/cli/main.js', import.meta.url),
)
const SOURCE = fileURLToPath(
  new URL('../../../../packages/tidemark/src/cli/main.ts', import.meta.url),
)

/** A process that prints `{"endpoint":…}` as its first line, once it answers there. */
export class ServerProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly endpoint: string

  private constructor(child: ChildProcess, exited: Promise<unknown>, endpoint: string) {
    this.#child = child
    this.#exited = exited
    this.endpoint = endpoint
  }

  /** `tidemark serve` on a folder, else in memory; as it is built, which is what users run, if it is. */
  static gateway(folder?: string): Promise<ServerProcess> {
    const program = existsSync(BUILT) ? [BUILT] : ['--conditions=@tidemark/source', SOURCE]
    return ServerProcess.start([...program, 'serve', folder ?? '--memory', '--port', '0', '--json'])
  }

  /** Starts Node with these arguments. */
  static async start(args: readonly string[]): Promise<ServerProcess> {
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TIDEMARK_GATEWAY_KEY: BENCH_KEY },
    })
    // Also when a scenario fails before it could end it.
    new KillAtExit().add(child)
    const exited = once(child, 'exit')
    const [line] = (await Promise.race([once(child.stdout, 'data'), exited])) as [unknown]
    if (!Buffer.isBuffer(line)) throw new Error('a server ended before it answered')
    const { endpoint } = JSON.parse(line.toString()) as { readonly endpoint: string }
    return new ServerProcess(child, exited, endpoint)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#exited
  }
}
