import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { info } from '../info.ts'
import { connection } from '../live/use-view.ts'
import { href, route } from '../route.ts'
import { theme, type Theme } from '../theme.ts'
import { Icon, type IconName } from './icon.tsx'
import { Moment } from './time.tsx'

const PAGES: readonly (readonly [path: string, text: string])[] = [
  ['', 'Overview'],
  ['groups', 'Groups'],
  ['collections', 'Collections'],
  ['letters', 'Dead letters'],
  ['queues', 'Queues and topics'],
]

export function TopBar(): VNode {
  const [current = ''] = route.value.path
  const nav = useRef<HTMLElement>(null)
  useEffect(() => {
    // On a narrow screen the links scroll.
    const link = nav.current?.querySelector('[aria-current]')
    link?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current])
  const known = info.value
  return (
    <header class="top">
      <a class="brand" href={href([])}>
        <Logo />
        Tidemark
      </a>
      {known?.environment && (
        <span class="chip environment" title="Environment">
          {known.environment}
        </span>
      )}
      {known?.readOnly && (
        <span class="chip">
          <Icon name="lock" />
          read-only
        </span>
      )}
      <nav aria-label="Pages" ref={nav}>
        {PAGES.map(([path, text]) => (
          <a
            key={path}
            href={href(path === '' ? [] : [path])}
            aria-current={current === path ? 'page' : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      <div class="end">
        <ConnectionMark />
        <ThemeSwitch />
      </div>
    </header>
  )
}

function Logo(): VNode {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0f6c7a" />
      <path
        d="M5 12c3.7-4 7.3-4 11 0s7.3 4 11 0M5 21c3.7-4 7.3-4 11 0s7.3 4 11 0"
        fill="none"
        stroke="#fff"
        stroke-width="3"
        stroke-linecap="round"
      />
    </svg>
  )
}

function ConnectionMark(): VNode {
  const now = connection.value
  const icon: IconName = now.kind === 'live' ? 'dot' : now.kind === 'stale' ? 'warning' : 'ring'
  return (
    <span
      class={`connection ${now.kind}`}
      role="status"
      title={now.kind === 'stale' ? now.problem.message : undefined}
    >
      <Icon name={icon} />
      {now.kind === 'stale' ? (
        <span>
          stale since <Moment ms={now.sinceMs} />
        </span>
      ) : (
        now.kind
      )}
    </span>
  )
}

const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }
const ICONS: Readonly<Record<Theme, IconName>> = { auto: 'auto', light: 'sun', dark: 'moon' }

function ThemeSwitch(): VNode {
  const now = theme.value
  const text = `Colours: ${now}. Change to ${NEXT[now]}.`
  return (
    <button
      type="button"
      class="bare"
      aria-label={text}
      title={text}
      onClick={() => (theme.value = NEXT[now])}
    >
      <Icon name={ICONS[now]} />
    </button>
  )
}
