/** A heading of the sidebar, with its pages in order. A name that ends with `/` stands for the pages of that folder that no group names. */
export interface PageGroup {
  readonly title: string
  readonly pages: readonly string[]
  /** Whether the group is closed until you are on one of its pages. */
  readonly collapsed?: boolean
}

export interface SidebarItem {
  readonly text: string
  readonly link: string
}

export interface SidebarGroup {
  readonly text: string
  readonly items: SidebarItem[]
  readonly collapsed?: boolean
}

export interface Sidebar {
  readonly groups: SidebarGroup[]
  /** Pages that stand in no group. */
  readonly unlisted: readonly string[]
  /** Pages that a group names and that are not there. */
  readonly missing: readonly string[]
}

/** The sidebar of pages, which are given by their paths with their titles. */
export function sidebarOf(
  groups: readonly PageGroup[],
  titles: ReadonlyMap<string, string>,
): Sidebar {
  const named = groups.flatMap(({ pages }) => pages.filter((page) => !page.endsWith('/')))
  const rest = new Set([...titles.keys()].filter((page) => !named.includes(page)).toSorted())
  const listed = groups.map(({ title, pages, collapsed }) => {
    const paths = pages.flatMap((page) =>
      page.endsWith('/') ? [...rest].filter((path) => folderOf(path) === page) : [page],
    )
    for (const path of paths) rest.delete(path)
    const items = paths.flatMap((path) => {
      const text = titles.get(path)
      return text === undefined ? [] : [{ text, link: addressOf(path) }]
    })
    return { text: title, items, ...(collapsed !== undefined && { collapsed }) }
  })
  return {
    groups: listed.filter(({ items }) => items.length > 0),
    unlisted: [...rest],
    missing: named.filter((page) => !titles.has(page)),
  }
}

/** Where a page stands on the site: the README of a folder is its index. */
export function addressOf(path: string): string {
  return `/${siteFileOf(path)
    .replace(/(?<=^|\/)index\.md$/, '')
    .replace(/\.md$/, '.html')}`
}

/** The name of a page on the site. */
export function siteFileOf(path: string): string {
  return path.replace(/(?<=^|\/)README\.md$/, 'index.md')
}

/** The first heading of a page, without its marks of code. */
export function titleOf(page: string): string {
  return /^# (?<title>.+)$/m.exec(page)?.groups?.['title']?.replaceAll('`', '') ?? ''
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}
