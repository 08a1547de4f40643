import { pageOf } from './repository.ts'

const LINK = /\[[^\]]*\]\((?<target>[^)\s]+)(?:\s+"[^"]*")?\)/g

/** Reads a page of the repository; `''` for another file or a folder, undefined when there is nothing. */
export type ReadPage = (path: string) => string | undefined

/** Links of a page that lead to no file of the repository, or to no heading of it; by its address on the main branch, too. */
export function brokenLinks(path: string, readPage: ReadPage): readonly string[] {
  const text = withoutFences(readPage(path) ?? '')
  return [...text.matchAll(LINK)].flatMap(({ groups }) => {
    const link = groups?.['target'] ?? ''
    const inTree = link.replace(pageOf('', 'blob'), '/').replace(pageOf('', 'tree'), '/')
    if (/^[a-z]+:/.test(inTree)) return []
    const [file = '', heading] = inTree.split('#')
    const target = file === '' ? path : new URL(file, `file:///${path}`).pathname.slice(1)
    const page = readPage(decodeURI(target))
    if (page === undefined) return [`${path}: ${link} is not there`]
    if (heading === undefined || headingsOf(page).has(heading)) return []
    return [`${path}: ${link} names no heading`]
  })
}

function headingsOf(page: string): ReadonlySet<string> {
  const lines = withoutFences(page).match(/^#+ .*$/gm) ?? []
  return new Set(lines.map((line) => headingAnchor(line.replace(/^#+ /, ''))))
}

/** A page without its examples: what looks like a link or a heading there is none. */
export function withoutFences(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```/gm, '')
}

/** The anchor that GitHub gives to a heading, and so does our site. */
export function headingAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}
