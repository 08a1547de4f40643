// Vite takes care of style sheets.
declare module '*.css'
