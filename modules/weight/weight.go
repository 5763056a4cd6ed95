// Package weight bounds the memory of JSON from other programs, before it is decoded. The length of JSON is a poor
// estimate: an empty map has three bytes, and takes more than three hundred.
package weight

import "bytes"

// Max bounds the memory in the controller for JSON of a host, in bytes, see [Of].
const Max = 16 << 20

// Harmless is the length, in bytes, up to which JSON cannot exceed the bound.
const Harmless = Max * 3 / (mapWeight + itemWeight) &^ 0xfff

// The memory of decoded JSON, in bytes, on a 64-bit machine: as maps, lists and texts in interfaces, with the spare
// capacity of maps and lists.
const (
	mapWeight  = 340
	listWeight = 64
	itemWeight = 48 // its place in a list, and the value's memory apart from its own text
	keyWeight  = 64 // its place in a map
)

// Of estimates the memory, in bytes, of JSON that is decoded into maps, lists and texts. depth is its deepest nesting.
// The text may be malformed.
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

// endOfString is the index of the quote that ends a string, or the end of the text. from is the index after its first
// quote.
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
