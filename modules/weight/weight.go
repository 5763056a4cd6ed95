// Package weight bounds what JSON of others takes in memory, before it is decoded. Its
// length says little of that: an empty map has three bytes, and takes more than three
// hundred.
package weight

import "bytes"

// Max bounds what JSON of a host may come to in the controller, in bytes, see [Of].
const Max = 16 << 20

// Harmless is how long JSON may be that cannot break the bound, in bytes.
const Harmless = Max * 3 / (mapWeight + itemWeight) &^ 0xfff

// What decoded JSON takes in memory, in bytes, on a 64-bit machine: as maps, lists and
// texts in interfaces, with the room that maps and lists keep for more.
const (
	mapWeight  = 340
	listWeight = 64
	itemWeight = 48 // its place in a list, and what the value needs besides its own text
	keyWeight  = 64 // its place in a map
)

// Of estimates how many bytes JSON takes in memory once it is decoded into maps, lists
// and texts, and says how deep it is nested. The text need not be well formed.
func Of(text []byte) (size, depth int) {
	now := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end := endOfString(text, i+1)
			size += end - i
			i = end
		case '{':
			size += mapWeight
			now++
		case '[':
			size += listWeight
			now++
		case '}', ']':
			now--
		case ',':
			size += itemWeight
		case ':':
			size += keyWeight
		}
		depth = max(depth, now)
	}
	return size + itemWeight, depth
}

// endOfString is where the quote stands that ends a string, or the end of the text. from
// is where the string begins, behind its first quote.
func endOfString(text []byte, from int) int {
	for i := from; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		i += n
		escapes := 0
		for escapes < i-from && text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
