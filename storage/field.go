package storage

import (
	"reflect"
	"time"
)

// Field is a promoted column and the function that derives it from the value.
type Field[T any] struct {
	Column Column
	// Value returns a string, int64, bool, time.Time or nil.
	Value func(*T) any
}

// TextColumn returns a column of type Text.
func TextColumn[T any](name string, value func(*T) string) Field[T] {
	return Field[T]{Column{Name: name, Type: Text}, func(v *T) any { return value(v) }}
}

// EnumColumn returns a column of type Text that allows these values alone.
func EnumColumn[T any, E ~string](name string, value func(*T) E, oneOf ...E) Field[T] {
	f := TextColumn(name, func(v *T) string { return string(value(v)) })
	for _, text := range oneOf {
		f.Column.OneOf = append(f.Column.OneOf, string(text))
	}
	return f
}

// NullTextColumn returns a column of type Text that is null where value returns nil.
func NullTextColumn[T any](name string, value func(*T) *string) Field[T] {
	return Field[T]{Column{Name: name, Type: Text, Null: true}, func(v *T) any {
		if text := value(v); text != nil {
			return *text
		}
		return nil
	}}
}

// BoolColumn returns a column of type Bool.
func BoolColumn[T any](name string, value func(*T) bool) Field[T] {
	return Field[T]{Column{Name: name, Type: Bool}, func(v *T) any { return value(v) }}
}

// IntColumn returns a column of type Int.
func IntColumn[T any](name string, value func(*T) int64) Field[T] {
	return Field[T]{Column{Name: name, Type: Int}, func(v *T) any { return value(v) }}
}

// TimeColumn returns a column of type Time.
func TimeColumn[T any](name string, value func(*T) time.Time) Field[T] {
	return Field[T]{Column{Name: name, Type: Time}, func(v *T) any { return value(v) }}
}

// NullTimeColumn returns a column of type Time that is null where value returns nil.
// V is a struct around a time.Time, such as api.Time.
func NullTimeColumn[T any, V ~struct{ time.Time }](name string, value func(*T) *V) Field[T] {
	return Field[T]{Column{Name: name, Type: Time, Null: true}, func(v *T) any {
		at := value(v)
		if at == nil {
			return nil
		}
		return struct{ time.Time }(*at).Time
	}}
}

// Nullable returns the column with null in place of the zero value.
func (f Field[T]) Nullable() Field[T] {
	value := f.Value
	f.Column.Null = true
	f.Value = func(v *T) any {
		if value := value(v); value != nil && !reflect.ValueOf(value).IsZero() {
			return value
		}
		return nil
	}
	return f
}

// Indexed returns the column with an index.
func (f Field[T]) Indexed() Field[T] {
	f.Column.Indexed = true
	return f
}
