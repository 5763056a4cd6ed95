// Package edit is what types share that look after a part of a file: a line, a block, an option.
// A [File] is read, split into a [Text], changed, and put back whole; everything that the
// resource is not about stays as it is. [Text.Keep] and [Text.KeepLine] add, change and remove the lines
// of one entry, [Place] says where something new goes, [Block] is lines
// between two markers, and a [Restore] puts back what was there before, whatever has been changed
// elsewhere in the file since.
package edit
