import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'sqlite',
  sequences: 320,
  place: () => Promise.resolve({ engine: 'sqlite' }),
})
