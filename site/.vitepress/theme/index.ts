// Without the fonts of VitePress: system fonts are there already, and nothing has to be loaded.
import theme from 'vitepress/theme-without-fonts'
import './style.css'

export default theme
