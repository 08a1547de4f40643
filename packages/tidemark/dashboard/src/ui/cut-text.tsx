import type { VNode } from 'preact'

export interface CutTextProps {
  readonly label: string
  readonly text: string | null
  /** It goes on; the server did not send more. */
  readonly isCut: boolean
}

/** JSON or text, as it is. */
export function CutText({ label, text, isCut }: CutTextProps): VNode {
  if (text === null) return <p class="muted">It has no text.</p>
  return (
    <div>
      <pre class="text" tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      {isCut && <p class="muted">Only the first 64 KiB are shown.</p>}
    </div>
  )
}
