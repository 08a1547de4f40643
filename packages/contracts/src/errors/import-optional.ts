import { errorCode } from './coded-error.ts'
import { MissingPackageError, packageName } from './missing-package-error.ts'

/**
 * What `load` imports. Name every package that it needs and that may be missing, with the version that users should
 * install where it matters: `importOptional(['ioredis'], () => import('ioredis'))`.
 *
 * Rejects with ERR_MISSING_PACKAGE, naming all of them, when one is not installed; otherwise as `load` does.
 */
export async function importOptional<Module>(
  packages: readonly string[],
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    const missing = missingPackage(cause)
    // Something else that is missing is an installation that broke: its own message says more.
    if (!packages.some((name) => packageName(name) === missing)) throw cause
    throw new MissingPackageError(packages, { cause })
  }
}

/** As Node words it for `import`, and for `require` in a bundle. Its errors have no field for the name. */
function missingPackage(error: unknown): string | undefined {
  const code = errorCode(error)
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return undefined
  return /^Cannot find (?:package|module) '([^']+)'/.exec(
    String(Reflect.get(Object(error), 'message')),
  )?.[1]
}
