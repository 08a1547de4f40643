export interface ServerEvent {
  readonly event: string
  readonly data: string
}

/**
 * Server-sent events of an answer. `onBytes` is called for all that comes, also for comments: by them a reader knows that the
 * connection lives. That, and the status of an answer, are what `EventSource` keeps to itself.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<ServerEvent, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      text += decoder.decode(value, { stream: true })
      // Whole events only; what is left over waits for its end.
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = parseBlock(block)
        if (event !== undefined) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function parseBlock(block: string): ServerEvent | undefined {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) event = line.slice(6).trim()
    else if (line.startsWith('data:')) data.push(line.slice(5).trimStart())
  }
  return data.length === 0 ? undefined : { event, data: data.join('\n') }
}
