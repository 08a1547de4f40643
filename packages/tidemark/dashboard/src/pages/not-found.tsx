import type { VNode } from 'preact'
import { href } from '../route.ts'
import { Heading } from '../ui/parts.tsx'

export function NotFound(): VNode {
  return (
    <>
      <Heading title="There is no such page" />
      <p>
        <a href={href([])}>Overview</a>
      </p>
    </>
  )
}
