import unittest

from till.basket import Basket
from till.receipt import receipt


class Receipt(unittest.TestCase):
    def test_a_line_each_and_the_total(self):
        basket = Basket()
        basket.add("bread", "3.20")
        basket.add("milk", "1.15", count=2)
        self.assertEqual(
            receipt(basket).splitlines(),
            [
                "1 x bread      3.20",
                "2 x milk       2.30",
                "-------------------",
                "total          5.50",
            ],
        )


if __name__ == "__main__":
    unittest.main()
