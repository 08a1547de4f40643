import { setTimeout as sleep } from 'node:timers/promises'

/** What is used of the library `testcontainers`, an optional peer. */
export interface Containers {
  /** Fails where no engine answers. */
  getContainerRuntimeClient(): Promise<unknown>
  readonly GenericContainer: new (image: string) => ContainerRecipe
  readonly Wait: { forLogMessage(line: RegExp, times: number): object }
}

interface ContainerRecipe {
  withExposedPorts(port: number): this
  withCommand(command: string[]): this
  withEnvironment(environment: Record<string, string>): this
  withWaitStrategy(strategy: object): this
  start(): Promise<{
    getHost(): string
    getMappedPort(port: number): number
    stop(): Promise<unknown>
  }>
}

const LIBRARY = 'testcontainers'

/** An engine that hangs, as one does that is just starting, is as good as none. */
const ANSWER_LIMIT_MS = 5_000

export interface FindContainersOptions {
  /** The variable that names a local program: a program that you name is the one to test with. */
  readonly unlessNamed: 'REDIS_SERVER_BIN' | 'POSTGRES_BIN'
  /** @default `import('testcontainers')` */
  readonly load?: (() => Promise<Containers>) | undefined
  /** How long the engine has to answer. @default 5_000 */
  readonly answerLimitMs?: number | undefined
}

/**
 * Decides where a server of a test runs: in a container if there is a library to resolve with, else in a process of
 * this machine. The library looks for the engine where `docker` would (`DOCKER_HOST`, the usual sockets) and asks it.
 */
export async function findContainers({
  unlessNamed,
  load = () => import(LIBRARY) as Promise<Containers>,
  answerLimitMs = ANSWER_LIMIT_MS,
}: FindContainersOptions): Promise<Containers | undefined> {
  if ((process.env[unlessNamed] ?? '') !== '') return undefined
  const library = await load().catch((error: unknown) => {
    if (isNotInstalled(error)) return undefined
    throw error
  })
  if (library === undefined) return undefined
  const answers = await Promise.race([
    library.getContainerRuntimeClient().then(
      () => true,
      () => false,
    ),
    sleep(answerLimitMs, false, { ref: false }),
  ])
  return answers ? library : undefined
}

function isNotInstalled(error: unknown): boolean {
  const { code, message } = error as { readonly code?: string; readonly message?: string }
  // Vitest, where it takes these sources in, has a stand-in for an optional peer: its error has no code.
  if (message?.startsWith(`Could not resolve "${LIBRARY}"`) === true) return true
  return code === 'ERR_MODULE_NOT_FOUND' && message?.includes(`'${LIBRARY}'`) === true
}

export interface ContainerRequest {
  readonly image: string
  /** Inside the container. */
  readonly port: number
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>> | undefined
  /** It is ready once this line has come this often in its log. */
  readonly ready: { readonly line: RegExp; readonly times: number }
}

export interface RunningContainer {
  readonly host: string
  /** On `host`. */
  readonly port: number
  /** Removes it with its volumes. */
  stop(): Promise<void>
}

/** Pulls the image if the engine lacks it. The library's reaper removes the container when this process ends without `stop`. */
export async function startContainer(
  { GenericContainer, Wait }: Containers,
  { image, port, command, environment = {}, ready }: ContainerRequest,
): Promise<RunningContainer> {
  try {
    const container = await new GenericContainer(image)
      .withExposedPorts(port)
      .withCommand([...command])
      .withEnvironment({ ...environment })
      .withWaitStrategy(Wait.forLogMessage(ready.line, ready.times))
      .start()
    return {
      host: container.getHost(),
      port: container.getMappedPort(port),
      async stop() {
        await container.stop()
      },
    }
  } catch (cause) {
    throw new Error(
      `The container engine did not start ${image} (${command.join(' ')}): ${String(cause)}. ` +
        'Look at its log with DEBUG=testcontainers*, or name a local program: REDIS_SERVER_BIN, POSTGRES_BIN.',
      { cause },
    )
  }
}
