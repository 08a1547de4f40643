import express, { type Express } from 'express'
import type { Dashboard } from 'tidemark'

export function expressApp(page: Dashboard): Express {
  const app = express()
  // Before what reads bodies: the page reads its own.
  app.use('/tidemark', page.nodeHandler)
  app.use(express.json())
  app.get('/', (_, answer) => void answer.send('the application'))
  return app
}
