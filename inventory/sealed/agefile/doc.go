// Package agefile implements the format of files whose values are encrypted one by one, and of files that age encrypted
// as a whole.
//
// In the first kind the structure of a YAML file is in clear, and values have the tag !age. A comment at the beginning,
// the [Header], names all readers of the file. It also contains the key of the values, encrypted by age for these
// readers. A value is sealed by XChaCha20-Poly1305 with a nonce of its own; the path of the file and the path of the
// value in it are part of the authenticated data, so that a value cannot be moved to another place.
package agefile
