import { CodedError } from './coded-error.ts'

const LIST = new Intl.ListFormat('en')

/**
 * What was asked for needs a package that is not installed: an optional peer, such as `ioredis` for leases on Redis.
 *
 * @remedy Install it with the command that the message names.
 */
export class MissingPackageError extends CodedError {
  override readonly name = 'MissingPackageError'
  readonly code = 'ERR_MISSING_PACKAGE'
  readonly retryable = false
  /** Names for npm, with a version where it matters. */
  readonly packages: readonly string[]

  constructor(packages: readonly string[], options?: ErrorOptions) {
    const what = packages.length === 1 ? 'the package' : 'the packages'
    const names = LIST.format(packages.map(packageName))
    super(`this needs ${what} ${names}: npm install ${packages.join(' ')}`, options)
    this.packages = packages
  }
}

/** Without the version; a scope begins with an @ of its own. */
export function packageName(wanted: string): string {
  const at = wanted.indexOf('@', 1)
  return at === -1 ? wanted : wanted.slice(0, at)
}
