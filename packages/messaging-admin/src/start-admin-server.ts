import type { MessageBroker } from '@tidemark/messaging'
import type { AccessPolicy } from '@tidemark/messaging/front'

export interface AdminServerOptions {
  /** The server does not close it. */
  readonly broker: MessageBroker
  /** Who may do what. Changing entities needs Manage. */
  readonly policies: readonly AccessPolicy[]
  /** @default '127.0.0.1' */
  readonly host?: string | undefined
  /** 0: any free one. @default 5300 */
  readonly port?: number | undefined
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** Allows http without TLS on another address than loopback. @default false */
  readonly insecureHttp?: boolean | undefined
}

export interface RunningAdminServer {
  /** `http://127.0.0.1:5300/` */
  readonly endpoint: string
  readonly address: string
  readonly port: number
  /** From now on only these count. @throws ERR_INVALID_OPTION */
  replacePolicies(policies: readonly AccessPolicy[]): void
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export function startAdminServer(_options: AdminServerOptions): Promise<RunningAdminServer> {
  return Promise.reject(new Error('not written yet'))
}
