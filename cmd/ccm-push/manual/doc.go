// Package manual writes the pages of a program's commands and help topics: man pages, and
// Markdown. It has what --help prints, but flags that all commands share stand on the page of
// the program alone; and it takes texts as they are, with no markup in them: in what is
// neither, web* and ~/.ssh mean themselves.
//
// Texts are paragraphs; a line that begins with a blank is shown as it is, in a font of
// programs.
package manual
