import type { Store } from '@tidemark/store'
import type { AccessOptions } from '../../dashboard/access.ts'
import { createDashboard, type Dashboard } from '../../dashboard/create-dashboard.ts'
import { openLeases } from '../lease-location.ts'
import type { Beside } from './beside.ts'
import type { PageFlags } from './page-flags.ts'

/** Where the page is on a port that has other things, too. */
const PAGE_PATH = '/ui/'

export interface PageOptions extends Pick<AccessOptions, 'host' | 'credentials'> {
  readonly store: Store
  readonly flags: PageFlags
  readonly readOnly?: boolean | undefined
  /** @default '/' */
  readonly basePath?: string | undefined
  readonly onFailure: (error: unknown, place: string) => void
}

/** The page as the command serves it. Rejects with ERR_INVALID_OPTION, and as the lease store does. */
export async function openPage({
  store,
  flags,
  ...options
}: PageOptions): Promise<Pick<Dashboard, 'fetch' | 'close'> & AsyncDisposable> {
  const { leases: location, environment } = flags
  const opened =
    location === undefined ? undefined : await openLeases(location, { store, missing: 'fail' })
  try {
    const dashboard = createDashboard({ ...options, store, leases: opened?.store, environment })
    const close = async (): Promise<void> => {
      await dashboard.close()
      await opened?.[Symbol.asyncDispose]()
    }
    return { fetch: dashboard.fetch, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await opened?.[Symbol.asyncDispose]()
    throw error
  }
}

/** The page beside the gateway. A browser that asks for `/` is sent there. */
export async function openPageBeside(
  options: Omit<PageOptions, 'basePath'>,
): Promise<AsyncDisposable & { readonly beside: Beside }> {
  const page = await openPage({ ...options, basePath: PAGE_PATH })
  return {
    beside: async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/')
        return new Response(null, { status: 302, headers: { location: PAGE_PATH } })
      return `${pathname}/`.startsWith(PAGE_PATH) ? page.fetch(request) : undefined
    },
    [Symbol.asyncDispose]: () => page.close(),
  }
}
