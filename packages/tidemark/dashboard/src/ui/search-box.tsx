import type { VNode } from 'preact'

export interface SearchBoxProps {
  readonly label: string
  readonly value: string
  readonly onChange: (text: string) => void
}

export function SearchBox({ label, value, onChange }: SearchBoxProps): VNode {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}
