import { CodedError, errorCode } from './coded-error.ts'

/**
 * A front cannot listen at its host and port: another process uses the port, or the address does not belong to this machine.
 *
 * @remedy Give another port (0: any free one) or host, or end the process that uses the port.
 */
export class AddressUnavailableError extends CodedError {
  override readonly name = 'AddressUnavailableError'
  readonly code = 'ERR_ADDRESS_UNAVAILABLE'
  readonly retryable = true

  constructor({ host, port }: { readonly host: string; readonly port: number }, cause: unknown) {
    const inUse = errorCode(cause) === 'EADDRINUSE'
    const why = inUse ? 'another process has it' : cause instanceof Error ? cause.message : ''
    super(`cannot listen at ${host} port ${port}: ${why}; choose another port or host`, { cause })
  }
}
