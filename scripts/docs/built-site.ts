import { posix } from 'node:path'

/** The HTML pages of a built site, by their paths. */
export type BuiltPages = ReadonlyMap<string, string>

/** Finds in the search index of the site; answers the addresses of what it found, best first. */
export type Find = (words: string) => readonly string[]

const LINK = /<a\s[^>]*?href="(?<href>[^"]*)"/g
const ID = /\sid="(?<id>[^"]*)"/g
const LOADING =
  /<(?:script|link|img|source|iframe|video|audio|embed|object|use)\s[^>]*?(?:src|href|srcset|data)="(?<address>(?:https?:)?\/\/[^"]*)"/g
const LOADING_CSS = /(?:@import\s+|url\()["']?(?<address>(?:https?:)?\/\/[^"')]+)/g

/** Links between pages, and within them, that lead to no page or to no heading. */
export function brokenSiteLinks(pages: BuiltPages): readonly string[] {
  const ids = new Map([...pages].map(([path, html]) => [path, new Set(namesIn(html, ID))]))
  return [...pages].flatMap(([path, html]) =>
    [...new Set(namesIn(html, LINK))].flatMap((href) => {
      if (/^(?:[a-z]+:|\/\/)/.test(href)) return []
      const [file = '', hash = ''] = href.split('#')
      const target = targetOf(path, decodeURI(file))
      const present = ids.get(target)
      if (present === undefined) return [`${path}: ${href} leads to no page`]
      if (hash === '' || present.has(hash) || present.has(decodeURIComponent(hash))) return []
      return [`${path}: ${href} leads to no heading`]
    }),
  )
}

/** What a page or a style sheet loads from elsewhere. */
export function loadedFromElsewhere(text: string): readonly string[] {
  return [LOADING, LOADING_CSS].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ groups }) => groups?.['address'] ?? ''),
  )
}

/** Words that do not lead to their page with one of the first answers. */
export function wordsNotFound(
  expected: ReadonlyMap<string, string>,
  find: Find,
): readonly string[] {
  return [...expected].flatMap(([words, page]) => {
    const first = find(words).slice(0, SHOWN)
    if (first.some((address) => address.split('#')[0] === page)) return []
    return [`a search for "${words}" finds ${first.join(', ') || 'nothing'}, not ${page}`]
  })
}

/** Answers that fit on a screen. */
const SHOWN = 8

function namesIn(html: string, pattern: RegExp): readonly string[] {
  return [...html.matchAll(pattern)].map(({ groups }) =>
    Object.values(groups ?? {})
      .join('')
      .replaceAll('&amp;', '&'),
  )
}

function targetOf(path: string, file: string): string {
  if (file === '') return path
  const target = posix.join('/', file.startsWith('/') ? '' : posix.dirname(path), file).slice(1)
  return target === '' || target.endsWith('/') ? `${target}index.html` : target
}
