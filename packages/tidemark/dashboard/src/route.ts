import { signal, type ReadonlySignal } from '@preact/signals'

/** What the part of the address behind `#` says. */
export interface Route {
  /** Decoded, without empty ones. */
  readonly path: readonly string[]
  readonly query: ReadonlyMap<string, string>
}

const current = signal(parseHash(location.hash))
addEventListener('hashchange', () => (current.value = parseHash(location.hash)))

export const route: ReadonlySignal<Route> = current

/** @internal */
export function parseHash(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: new Map(new URLSearchParams(query)),
  }
}

/** The address of a page; values that are undefined or empty are left out. */
export function href(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value)
  const text = search.toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** Those of some values of the address that are there. */
export function valuesOf<Name extends string>(
  query: Route['query'],
  names: readonly Name[],
): { readonly [Key in Name]?: string } {
  const values: { [Key in Name]?: string } = {}
  for (const name of names) {
    const value = query.get(name)
    if (value !== undefined) values[name] = value
  }
  return values
}

/** Changes some values of the present address. It is no step of the history: filters are not pages. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = current.value
  const next = href(path, { ...Object.fromEntries(query), ...changes })
  history.replaceState(null, '', next)
  current.value = parseHash(next)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
