import unittest

from till.money import parse, show, split


class Parse(unittest.TestCase):
    def test_euros_and_cents(self):
        self.assertEqual(parse("12.50"), 1250)

    def test_whole_euros(self):
        self.assertEqual(parse("3"), 300)

    def test_one_decimal_means_tens_of_cents(self):
        self.assertEqual(parse("0.5"), 50)

    def test_thousands(self):
        self.assertEqual(parse("1,299.00"), 129900)


class Show(unittest.TestCase):
    def test_two_decimals(self):
        self.assertEqual(show(1250), "12.50")


class Split(unittest.TestCase):
    def test_no_cent_is_lost(self):
        self.assertEqual(split(1000, 3), [334, 333, 333])


if __name__ == "__main__":
    unittest.main()
