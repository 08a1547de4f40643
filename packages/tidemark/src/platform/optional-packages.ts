import { importOptional } from '@tidemark/contracts/internal'
import { packageVersion } from './package-version.ts'

/*
 * Everything that users install beside `tidemark` when they want what needs it: the optional peers of package.json. Each
 * rejects with ERR_MISSING_PACKAGE, which names the command that installs them.
 */

/** The engine, whose driver is optional. */
export function loadPostgresEngine(): Promise<typeof import('@tidemark/engine-postgres')> {
  return importOptional(['pg'], () => import('@tidemark/engine-postgres'))
}

/** For commands, which make a client of their own. */
export function loadRedis(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  return importOptional(['ioredis'], () => import('ioredis'))
}

/** What reaches an account of Azure Cosmos DB, and the official client that it is reached by. */
export function loadCosmos(): Promise<CosmosPackages> {
  return importOptional([ofThisVersion('@tidemark/cosmos'), '@azure/cosmos@4'], async () => ({
    cosmos: await import('@tidemark/cosmos'),
    client: await import('@azure/cosmos'),
  }))
}

export interface CosmosPackages {
  readonly cosmos: typeof import('@tidemark/cosmos')
  readonly client: Pick<typeof import('@azure/cosmos'), 'CosmosClient'>
}

export function loadPino(): Promise<Pick<typeof import('pino'), 'pino'>> {
  return importOptional(['pino'], () => import('pino'))
}

export function loadGateway(): Promise<typeof import('@tidemark/gateway')> {
  return importOptional([ofThisVersion('@tidemark/gateway')], () => import('@tidemark/gateway'))
}

/** Which protocols are served. */
export interface WantedFronts {
  readonly gateway: boolean
  readonly amqp: boolean
  readonly admin: boolean
}

/** The packages of the fronts that are wanted. */
export interface FrontPackages {
  readonly gateway: typeof import('@tidemark/gateway') | undefined
  readonly amqp: typeof import('@tidemark/messaging-amqp') | undefined
  readonly admin: typeof import('@tidemark/messaging-admin') | undefined
}

/** Loads what serves the wanted protocols, and nothing else. The error names the packages of all of them. */
export function loadFronts({ gateway, amqp, admin }: WantedFronts): Promise<FrontPackages> {
  const names = [
    ...(gateway ? ['@tidemark/gateway'] : []),
    ...(amqp ? ['@tidemark/messaging-amqp'] : []),
    ...(admin ? ['@tidemark/messaging-admin'] : []),
  ]
  return importOptional(names.map(ofThisVersion), async () => ({
    gateway: gateway ? await import('@tidemark/gateway') : undefined,
    amqp: amqp ? await import('@tidemark/messaging-amqp') : undefined,
    admin: admin ? await import('@tidemark/messaging-admin') : undefined,
  }))
}

/** What `/metrics` is made with. The exporter is of the same release as its SDK. */
export function metricsPackages(): readonly string[] {
  return [
    ofThisVersion('@tidemark/otel'),
    '@opentelemetry/api@1',
    '@opentelemetry/sdk-metrics@3.1',
    '@opentelemetry/exporter-prometheus@0.301',
  ]
}

/** Packages of Tidemark work together in one version. */
function ofThisVersion(name: string): string {
  return `${name}@${packageVersion()}`
}
