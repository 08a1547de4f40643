import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useId } from 'preact/hooks'
import type { Problem } from '../../../src/dashboard/views.ts'
import { info } from '../info.ts'
import { Icon } from './icon.tsx'

export interface CardProps {
  readonly title: string
  /** On the right of the title: filters, buttons. */
  readonly end?: ComponentChildren
  readonly class?: string | undefined
  readonly children?: ComponentChildren
}

export function Card({ title, end, children, class: more = '' }: CardProps): VNode {
  const id = useId()
  return (
    <section class={`card ${more}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {end !== undefined && <div class="end">{end}</div>}
      </header>
      {children}
    </section>
  )
}

export interface Figure {
  readonly name: string
  readonly value: ComponentChildren
  readonly note?: ComponentChildren
}

export function Figures({ figures }: { readonly figures: readonly Figure[] }): VNode {
  return (
    <dl class="figures">
      {figures.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value} {note !== undefined && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

export interface NoticeProps {
  readonly tone?: 'plain' | 'warn' | 'bad'
  readonly children: ComponentChildren
}

export function Notice({ tone = 'plain', children }: NoticeProps): VNode {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      {tone !== 'plain' && <Icon name={tone === 'bad' ? 'stop' : 'warning'} />}
      <div>{children}</div>
    </div>
  )
}

export function ProblemNotice({ problem }: { readonly problem: Problem }): VNode {
  return (
    <Notice tone="bad">
      {problem.message} <code>{problem.code}</code>
    </Notice>
  )
}

export interface Crumb {
  readonly text: string
  readonly href: string
}

export interface HeadingProps {
  readonly title: string
  readonly crumbs?: readonly Crumb[]
  /** Beside the title: chips. */
  readonly chips?: ComponentChildren
  readonly buttons?: ComponentChildren
}

export function Heading({ title, crumbs = [], chips, buttons }: HeadingProps): VNode {
  const environment = info.value?.environment
  useEffect(() => {
    document.title = [title, environment, 'Tidemark'].filter(Boolean).join(' · ')
  }, [title, environment])
  return (
    <div>
      {crumbs.length > 0 && (
        <nav class="crumbs" aria-label="Breadcrumbs">
          <ol>
            {crumbs.map(({ text, href }) => (
              <li key={href}>
                <a href={href}>{text}</a>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="heading">
        <h1>{title}</h1>
        {chips}
        {buttons !== undefined && <div class="buttons">{buttons}</div>}
      </div>
    </div>
  )
}

export interface TabLink {
  readonly text: string
  readonly href: string
  readonly isCurrent: boolean
}

export function Tabs({ label, tabs }: { label: string; tabs: readonly TabLink[] }): VNode {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ text, href, isCurrent }) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  )
}

/** What a page shows before its view is there, or instead of it. */
export function Waiting({ problem }: { readonly problem: Problem | undefined }): VNode {
  return problem === undefined ? (
    <p class="muted" role="status">
      Loading …
    </p>
  ) : (
    <ProblemNotice problem={problem} />
  )
}
