package modules

import "bytes"

// MaxWeight bounds what JSON of a host may come to in the controller, see [Weigh]. Its
// length says little of that: an empty map has three bytes, and takes more than three
// hundred in memory.
const MaxWeight = 16 << 20

// weightless is how long JSON may be that cannot break the bound, in bytes.
const weightless = MaxWeight * 3 / (mapWeight + itemWeight) &^ 0xfff

// What decoded JSON takes in memory, in bytes, on a 64-bit machine: as maps, lists and
// texts in interfaces, with the room that maps and lists keep for more.
const (
	mapWeight  = 340
	listWeight = 64
	itemWeight = 48 // its place in a list, and what the value needs besides its own text
	keyWeight  = 64 // its place in a map
)

// Weigh estimates how many bytes JSON takes in memory once it is decoded into maps, lists
// and texts, and says how deep it is nested. The text need not be well formed.
func Weigh(text []byte) (weight, depth int) {
	now := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end := endOfString(text, i+1)
			weight += end - i
			i = end
		case '{':
			weight += mapWeight
			now++
		case '[':
			weight += listWeight
			now++
		case '}', ']':
			now--
		case ',':
			weight += itemWeight
		case ':':
			weight += keyWeight
		}
		depth = max(depth, now)
	}
	return weight + itemWeight, depth
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
