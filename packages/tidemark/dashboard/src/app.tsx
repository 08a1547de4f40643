import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Announcements } from './ui/announcements.tsx'
import { TopBar } from './ui/top-bar.tsx'
import { CollectionPage } from './pages/collection-page.tsx'
import { GroupPage } from './pages/group-page.tsx'
import { LettersPage } from './pages/letters-page.tsx'
import { NotFound } from './pages/not-found.tsx'
import { OverviewPage } from './pages/overview-page.tsx'
import { QueuePage } from './pages/queue-page.tsx'
import { info } from './info.ts'
import { route } from './route.ts'

export function App(): VNode {
  const main = useRef<HTMLElement>(null)
  const path = route.value.path.join('/')
  const isFirst = useRef(true)
  useEffect(() => {
    // A new page is read from its top; the first one keeps the browser's own focus.
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    isFirst.current = false
    scrollTo(0, 0)
  }, [path])
  const known = info.value
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to the content
      </a>
      <TopBar />
      <main id="main" ref={main} tabIndex={-1}>
        <Page key={path} />
      </main>
      <Announcements />
      {known && (
        <footer>
          Tidemark {known.version} · {known.store}
          {known.masked && ' · texts are masked'}
        </footer>
      )}
    </>
  )
}

function Page(): VNode {
  const [page = '', first, second] = route.value.path
  switch (page) {
    case '':
    case 'groups':
    case 'collections':
    case 'letters':
    case 'queues':
      if (first === undefined || second === undefined) return <OverviewPage part={page} />
  }
  if (first === undefined || second === undefined) return <NotFound />
  switch (page) {
    case 'groups':
      return <GroupPage leases={first} group={second} />
    case 'collections':
      return <CollectionPage database={first} collection={second} />
    case 'letters':
      return <LettersPage database={first} collection={second} />
    case 'queues':
      return <QueuePage database={first} entity={second} />
    default:
      return <NotFound />
  }
}
