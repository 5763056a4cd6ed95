// Package manual writes the pages of a program's commands and help topics: man pages, and Markdown. They contain the
// text of --help, but flags that all commands share are only on the page of the program. Texts have no markup: web* and
// ~/.ssh are literal.
//
// Texts are paragraphs; a line that begins with a blank is printed unchanged, in a fixed-width font.
package manual
