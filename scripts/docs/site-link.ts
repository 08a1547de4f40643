import { pageOf } from '../repository.ts'
import { siteFileOf } from './sidebar.ts'

/** What a path of the repository is; undefined when nothing is there. */
export type KindOfPath = (path: string) => 'file' | 'folder' | undefined

/**
 * Where a link of a page of docs/ leads on the site. Links between pages stay; whatever else of the repository they lead to is
 * shown at its address.
 *
 * @throws Error when nothing is there
 */
export function siteLink(page: string, href: string, kindOf: KindOfPath): string {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href
  const [path = '', hash] = href.split('#')
  const target = decodeURI(new URL(path, `file:///docs/${page}`).pathname)
    .slice(1)
    .replace(/\/$/, '')
  const fragment = hash === undefined ? '' : `#${hash}`
  if (target.startsWith('docs/') && target.endsWith('.md')) return siteFileOf(path) + fragment
  const kind = kindOf(target)
  if (kind === undefined) throw new Error(`docs/${page}: ${href} is not there`)
  return pageOf(encodeURI(target), kind === 'file' ? 'blob' : 'tree') + fragment
}
