import { InvalidOptionError } from '@tidemark/contracts'

/** A store on PostgreSQL, from one text. */
export interface PostgresLocation {
  /** Without `schema`, which `pg` does not have. */
  readonly url: string
  /** From `?schema=`; undefined: the engine's default. */
  readonly schema: string | undefined
}

/**
 * Parses `postgres://user@host/database?schema=name`. Undefined when the text does not begin like that, and so is the
 * path of a folder. Throws ERR_INVALID_OPTION, without the password, when it begins like that but is not a valid URL.
 */
export function postgresLocation(text: string): PostgresLocation | undefined {
  if (!/^postgres(?:ql)?:/i.test(text)) return undefined
  const url = URL.parse(text)
  if (url === null || !/^postgres(?:ql)?:\/\//i.test(text)) {
    throw new InvalidOptionError(
      'a store on PostgreSQL must look like postgres://user:password@host:5432/database?schema=name, ' +
        'with %-escapes for special characters in the password',
    )
  }
  const schema = url.searchParams.get('schema') ?? undefined
  if (schema === undefined) return { url: text, schema }
  url.searchParams.delete('schema')
  return { url: url.href, schema }
}

/**
 * Throws ERR_INVALID_OPTION for a URL where the path of a folder is expected: a mistyped `postgre://user:password@…`
 * must not become the name of a folder.
 */
export function refuseOtherUrl(text: string): void {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]
  if (scheme === undefined && hasPassword(text)) {
    throw new InvalidOptionError(
      'a store is a folder or a postgres:// URL; the path of a folder must not have a password in it',
    )
  }
  if (scheme === undefined) return
  throw new InvalidOptionError(
    `a store is a folder or a postgres:// URL, not a URL that begins with ${scheme}://; ` +
      'write a folder of such a name as ./name',
  )
}

/** As in `postgres//user:password@host`. */
function hasPassword(text: string): boolean {
  return text.split('//').some((part, index) => {
    const authority = part.slice(0, (part + '/').indexOf('/'))
    return index > 0 && authority.slice(0, Math.max(authority.lastIndexOf('@'), 0)).includes(':')
  })
}
