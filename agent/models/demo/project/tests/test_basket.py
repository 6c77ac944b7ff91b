import unittest

from till.basket import Basket


class Totals(unittest.TestCase):
    def setUp(self):
        self.basket = Basket()

    def test_one_of_each(self):
        self.basket.add("bread", "3.20")
        self.basket.add("milk", "1.15")
        self.assertEqual(self.basket.total(), 435)

    def test_several_of_one(self):
        self.basket.add("milk", "1.15", count=4)
        self.assertEqual(self.basket.total(), 460)

    def test_the_same_thing_twice_is_one_line(self):
        self.basket.add("milk", "1.15")
        self.basket.add("milk", "1.15")
        self.assertEqual(len(self.basket.lines), 1)

    def test_a_reduction_is_rounded_not_cut(self):
        self.basket.add("lamp", "19.90")
        self.assertEqual(self.basket.reduced(30), 1393)


if __name__ == "__main__":
    unittest.main()
